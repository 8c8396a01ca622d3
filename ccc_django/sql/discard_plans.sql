-- discard_plans: let the server plan our prepared statements anew.
DISCARD PLANS
