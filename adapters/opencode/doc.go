// Package opencode starts agent servers and is the gateway to them. The program is opencode unless something else is configured.
//
// Nothing is started here: Launcher and GatewayProcess describe how to start a process (Spec); package osproc starts it.
//
//   - launcher.go, health.go: Launcher, a sandboxport.Launcher: how an agent server is started, which models it knows, and whether it is
//     healthy
//   - sockets.go, sockets_linux.go, sockets_other.go: Sockets: ports of this machine, which processes listen on them, and agent servers
//     that carry no mark of Countersign
//   - router.go, servertable.go, call.go, request.go: Router, a sandboxport.Router, asks the agent server that a request names, by the table of
//     servers that the manager writes (opencode contract §9.2, §16). The table is read when it is needed, and again whenever it has
//     changed. Whether something may be asked is not decided here, and nothing on this machine is changed
//   - gatewayprocess.go: GatewayProcess, how the gateway itself is started as a process, and whether it is healthy
//
// Its API may change at any time.
package opencode
