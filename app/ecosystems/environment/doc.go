// Package environment implements the tools that deploy and destroy an ecosystem's environment with a provisioner: the manifest's own commands, a script, or
// one that is built in (amof contract §7, §13, §20.5). Tools: amof_spin_deploy, amof_spin_destroy, and, for users alone,
// ecosystem_spin_status and ecosystem_spin_ask. Deploying and destroying are runs; Performers carries them out.
//
//   - the tools and their inputs: environment.go; previews and the facts they rest on: plan.go; status.go and provisioner_query.go
//   - runs: run.go for provisioners' programs, local_provisioner.go for the services of the built-in provisioner local
//   - programs and their output (process_output.go): Programs.Run starts a program and reads it to its end. Every line goes to the log of the run, within
//     bounds, and what it says of the environment is noted in the outputs (amof contract §20.5)
//
// Preparing a plan never runs anything of a provisioner, not even its plan action: that is a program of the user's choice, and only execute mode
// starts one. A preview therefore shows the command that would tell more (plan_command), and ecosystem_spin_ask runs it for users. A script is asked
// for its plan and status by that tool alone, because older scripts knew deploy and destroy and took any other action for one of them.
//
// A program that a provisioner started in the background goes on when the provisioner has ended. Services that the built-in provisioner local starts
// are background processes, and destroy ends them. An environment is destroyed with the provisioner that deployed it.
//
// Its API may change at any time.
package environment
