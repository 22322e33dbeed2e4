"""Streams of labelled rows (generators and files) and their replay onto topics."""
