"""Beyond one hyperplane: one for each region of the features, and networks whose depth is learned."""
