// Package local wires every adapter on one machine into an *app.App: what the commands use, and what most programs that embed Countersign need.
//
// Open assembles a Local from a Config. It opens no file and no database and starts nothing; each part opens what it needs when a call first needs
// it. The caller closes the Local. Open fails with app.ErrWiring if the Config names something that does not exist. The zero Config keeps its state
// in the directory from the environment and allows no change; start from Defaults, Environment or EnvironmentOver. Environment reads the environment
// variables and COUNTERSIGN_HOME/config.yaml, in that order of precedence, and fails with ErrConfig.
//
// # Where things are
//
//   - local.go: Config, Local, Defaults, Open
//   - environment.go: Config from environment variables and config.yaml; policylayers.go: the policy layers that no caller of a command line
//     chooses (Trust, SystemPolicy); limits.go: rate limits
//   - toolsets.go: the list of toolsets and how their tools are created; only enabled toolsets are created
//   - packs.go, deployments.go, projects.go, sandboxes.go, ecosystems.go: the configuration and the wiring of one capability each
//   - deployhost.go: deployments, where one port is served by several adapters: module files come from the config repository (Configs) and
//     from git (Sources). The table of targets is created when the first config file is read, and the index of file hashes is read meanwhile
//   - ecosystemhost.go, adapters.go: ecosystems on one machine (EcosystemHost): tools over files, git and processes, and the worker processes that
//     execute
//     runs
//   - hostenvironment.go, hosttokens.go, tools.go: what connecting an agent host needs of this machine: the path of this program, resolved links,
//     installed programs, and the access tokens with which hosts call over HTTP
//   - hooks.go, webhookserver.go: incoming webhooks start workflows, through the same call pipeline as every call (Hooks). A workflow
//     starts only if the user has enabled its incoming webhook for its current form
//   - credentials.go, auditlog.go, notify.go, log.go: credentials, the signed audit log and its anchors, notifications, structured logging
//   - packmaintenance.go: the toolset upkeep, with which countersign pack doctor repairs a pack store (inspect_pack_store, quarantine_pack_file). It
//     must be enabled explicitly
package local
