-- renew_claim: extend the lease.
UPDATE ccc_offsets SET blocked_until = strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', '+' || %(lease)s || ' seconds')
WHERE id = %(id)s AND token = %(token)s
RETURNING blocked_until
