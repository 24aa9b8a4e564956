// Package osproc runs programs on this machine so that all of what they start can be ended: in the foreground of a call, or in the
// background under a supervisor that survives its client and the server. Every process has a directory, from which any Countersign process
// can read it, stop it, and clean up after a dead owner.
//
// Processes is a ports.Processes. It holds nothing open between calls, never signals on a process number alone,
// and keeps no secret on disk.
//
//   - osproc.go, child.go, ending.go, processdir.go: programs in the foreground, how they end, and the record in the directory
//   - watchdog_unix.go, watchdog_other.go: a shell beside this process that ends what it runs in the foreground when it is killed
//   - supervise.go: Start starts a supervisor; Supervise is its program: it starts what it is told, answers, and stays with it to its end.
//     Told to end itself, it ends the program first
//   - launchrequest.go: what a supervisor is told: which program to run and how, on its standard input and nowhere else, because there are secrets
//     in it. Arguments and variables need not be UTF-8; no byte is lost
//   - table.go: processes inspected, listed, watched, stopped, and recovered when their owner is dead
//   - tree.go, treeend.go and tree_linux.go, tree_darwin.go, tree_unix.go, tree_other.go: process trees: which processes belong together (ProcessTree, a
//     process group and whatever left it but carries its mark) and whether one is still the one that was meant (Identity). A process is
//     known by its number, the time it started, the boot it started in and the namespace it is in, because numbers come again
//   - mailbox.go: a named pipe by which others know whether the process that made it still reads (Mailbox)
//   - spool.go, ring.go, files.go, cleanoutput.go, log.go: output: a reader of each stream that never keeps the process waiting, a bounded ring of
//     whole lines behind it, and, some times a second, what is still in the ring cleaned, redacted and appended to numbered files that any
//     process can read (Spool, ReadOutput)
//
// Its API may change at any time.
package osproc
