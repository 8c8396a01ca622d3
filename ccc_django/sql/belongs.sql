WHERE entry.key_pair = wanted.pair AND entry.shape = driver.shape
  AND entry.position > (SELECT %(after)s::bigint) AND entry.position <= (SELECT %(upto)s::bigint)
  AND NOT EXISTS (
      SELECT FROM need
      WHERE need.shape = driver.shape AND need.choice = driver.choice AND need.part <> driver.part
        AND NOT EXISTS (
            SELECT FROM unnest(need.pairs) AS confirmed(pair)
            CROSS JOIN LATERAL (
                SELECT FROM ccc_message_key_pairs AS other
                WHERE other.key_pair = confirmed.pair AND other.shape = driver.shape AND other.position = entry.position
                LIMIT 1
            ) AS other
        )
  )
