"""The operations that tensorcopy.toml names."""


def normalized(x):
    """Return x moved to a mean of 0 and scaled to a deviation of 1."""
    centred = x - x.mean()
    return centred / (centred.pow(2).mean().sqrt() + 1e-6)


def nearest(points, queries, k):
    """Return the distances from each query to its k nearest points, ascending."""
    squares = queries.pow(2).sum(-1, keepdim=True) + points.pow(2).sum(-1) - 2 * queries @ points.t()
    return squares.clamp_min(0).topk(k, largest=False).values.sqrt()
