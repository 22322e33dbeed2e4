"""Model averaging between the learners of several partitions."""
