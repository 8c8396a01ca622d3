-- ack_deliveries: messages of a shared claim are done; whoever has lost one of them changes nothing.
DELETE FROM ccc_deliveries
WHERE (group_topic_id, position) IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(%(wanted)s))
  AND token = %(token)s
  AND %(epoch)s = (SELECT epoch FROM ccc_consumer_groups WHERE ccc_consumer_groups.id = %(group)s)
  AND json_array_length(%(wanted)s) = (
      SELECT count(*) FROM json_each(%(wanted)s) AS each JOIN ccc_deliveries AS held
          ON held.group_topic_id = json_extract(each.value, '$[0]') AND held.position = json_extract(each.value, '$[1]')
      WHERE held.token = %(token)s
  )
RETURNING position
