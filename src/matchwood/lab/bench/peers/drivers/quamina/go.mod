module driver

go 1.22

require quamina.net/go/quamina v1.5.1
