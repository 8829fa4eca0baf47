"""The experiments of "Maximum Margin Interval Trees" (2017), and more methods: ``python -m benchmarks.paper --help``.

`moves` counts pointer moves and seconds of the solver, `functions` fits simulated functions,
`accuracy` is nested cross-validation of every method of `methods` on every data set of `data`. Each
result is a line of a csv (`table`); `statistics` compares methods over data sets, `figures` draws
what the csv files hold. `growth` and `when` are commands of their own: how pointer moves grow with
n, and when these trees beat Interval-CART.
"""
