"""The topic of rejections: read and grouped by kind, and sent again."""
