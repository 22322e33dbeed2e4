"""What the learners of several partitions tell each other, and how it is averaged."""
