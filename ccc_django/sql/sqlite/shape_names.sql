-- shape_names: the attributes that messages of each shape carry.
SELECT DISTINCT digest, names FROM ccc_shapes
