// Package workspace implements the tools that install an ecosystem's workspace, keep it up to date, and work on tickets in it (amof contract §6, §13).
//
//   - install and sync, which are runs (InstallEntries and Performers in install_tools.go): amof_install_ecosystem (install.go, install_run.go) makes the worktree
//     of the workspace root and clones the repositories; amof_sync_ecosystem (sync.go) brings them up to date with their origins. Repositories are
//     worked on side by side
//   - tickets (TicketEntries in tickets.go; ticket_start.go, ticket_end.go): amof_ticket_list, amof_ticket_start, amof_ticket_switch, amof_ticket_end. A
//     ticket is a feature branch across the repositories of an ecosystem, each in a worktree of its own. Ending one keeps its worktrees and branches
//     unless cleanup is asked for, and unsaved work stays unless force is given; WorktreeEnsurer makes missing worktrees of tickets again
//   - the end of a ticket's work (ticket_finish.go): ecosystem_ticket_sync rebases its branches, ecosystem_ticket_merge merges them in the order of
//     depends_on, ecosystem_ticket_pr names the pages of pull requests. A step that was begun is noted (MergeNote), and finished by whoever comes next
//
// Git is used through the ports of package ecosystemport.
//
// Its API may change at any time.
package workspace
