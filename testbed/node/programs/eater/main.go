// Eater is a job in the shape of its memory: it fills -mib, one page after the other, then goes over all of it -sweeps
// times, holds it for -hold, gives all but -plateau back and goes over that once more, and ends with status 0. The memory
// is mapped by hand, so that Go's own heap stays small.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

const mib, page = 1 << 20, 4096

func main() {
	size := flag.Int("mib", 64, "memory to fill, MiB")
	rate := flag.Int("rate", 0, "MiB a second while filling; 0 is as fast as it goes")
	sweeps := flag.Int("sweeps", 0, "times to go over the memory once it is full")
	hold := flag.Duration("hold", 0, "time to keep it")
	plateau := flag.Int("plateau", 0, "MiB that are kept after the peak, and gone over once")
	child := flag.Bool("child", false, "do it in a child process, and end with status 0 whatever becomes of it")
	flag.Parse()
	if *child {
		runChild()
		return
	}
	started := time.Now()
	memory := make([][]byte, 0, *size)
	for i := 0; i < *size; i++ {
		block, err := syscall.Mmap(-1, 0, mib, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			fmt.Println("eater: no memory:", err)
			os.Exit(3)
		}
		touch(block)
		memory = append(memory, block)
		if (i+1)%64 == 0 {
			fmt.Printf("%d MiB after %.1f s\n", i+1, time.Since(started).Seconds())
		}
		if *rate > 0 {
			time.Sleep(time.Duration(i+1)*time.Second/time.Duration(*rate) - time.Since(started))
		}
	}
	fmt.Printf("filled %d MiB after %.1f s\n", *size, time.Since(started).Seconds())
	for i := 0; i < *sweeps; i++ {
		for _, block := range memory {
			touch(block)
		}
		fmt.Printf("sweep %d after %.1f s\n", i+1, time.Since(started).Seconds())
	}
	time.Sleep(*hold)
	if *plateau > 0 && *plateau < len(memory) {
		for _, block := range memory[*plateau:] {
			if err := syscall.Munmap(block); err != nil {
				fmt.Println("eater: cannot give memory back:", err)
				os.Exit(3)
			}
		}
		for _, block := range memory[:*plateau] {
			touch(block)
		}
		fmt.Printf("plateau of %d MiB after %.1f s\n", *plateau, time.Since(started).Seconds())
	}
	fmt.Printf("done after %.1f s\n", time.Since(started).Seconds())
}

// touch makes every page differ from zero: pages of zeros are never written to swap (Linux 6.11 and later).
func touch(block []byte) {
	for i := 0; i < len(block); i += page {
		block[i]++
		block[i+8] = 1
	}
}

func runChild() {
	var arguments []string
	for _, argument := range os.Args[1:] {
		if argument != "-child" {
			arguments = append(arguments, argument)
		}
	}
	command := exec.Command("/proc/self/exe", arguments...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	err := command.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		fmt.Println("child:", exit.ProcessState)
	} else if err != nil {
		fmt.Println("child did not start:", err)
		os.Exit(3)
	} else {
		fmt.Println("child: exit status 0")
	}
	time.Sleep(time.Second)
}
