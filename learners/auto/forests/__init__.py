"""Random forests of incremental trees on binned features."""
