// What runs in a pod of the tests: it says hello, and then waits until it is asked to end; `once` does not wait.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	fmt.Println("hello from a pod")
	if len(os.Args) > 1 && os.Args[1] == "once" {
		return
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM, syscall.SIGINT)
	<-asked
}
