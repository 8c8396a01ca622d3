-- lock_shared_group: one worker at a time makes deliveries of a shared group; others go on claiming.
-- Deliveries that are lost in a crash are made again: where they are committed by themselves, nobody waits for the disk.
SELECT
    id, handled_types::text, set_config('jit', 'off', true),
    CASE WHEN (SELECT %(lazy)s::boolean) THEN set_config('synchronous_commit', 'off', true) END
FROM ccc_consumer_groups
WHERE name = (SELECT %(name)s::text) AND kind = 'shared'
FOR NO KEY UPDATE SKIP LOCKED
