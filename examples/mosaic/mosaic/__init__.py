"""A mosaic of rasters in two pools of workers: many small tiles beside each other, the few big ones alone."""
