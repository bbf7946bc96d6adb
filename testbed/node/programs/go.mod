module floodplain.test/programs

go 1.24
