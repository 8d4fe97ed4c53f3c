// Command clientgo is the client-go side of the conformance suite. As `clientgo
// informer` it does what the example event_log does and prints the same lines; as
// `clientgo queues` it reads traces of queue operations and prints what client-go's
// queues hand out.
package main

import (
	"fmt"
	"os"
)

func main() {
	command := ""
	if len(os.Args) > 1 {
		command = os.Args[1]
	}
	var err error
	switch command {
	case "informer":
		err = informer(os.Args[2:])
	case "queues":
		err = queues(os.Stdin, os.Stdout)
	default:
		err = fmt.Errorf("usage: clientgo informer [flags] | clientgo queues < traces")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "clientgo:", err)
		os.Exit(1)
	}
}
