"""The commands of `matchwood`: one module per command, named like it.

    on rules      import_rules, check, test, explain, build, stats
    on events     match
    on Spark      run, package_env
    with service  serve, key; subscribe, publish, watch
    research      generate, bench
    kernels       warm_up

Importing a module adds its command to the program.
"""
