"""Random forests of incremental trees on binned features, and when `auto` uses them."""
