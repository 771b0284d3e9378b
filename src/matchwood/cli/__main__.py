from matchwood.cli import main

main()
