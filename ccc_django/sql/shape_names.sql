-- shape_names: the attributes that messages of each shape carry.
SELECT DISTINCT digest, names::text FROM ccc_shapes
