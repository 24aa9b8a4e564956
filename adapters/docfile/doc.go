// Package docfile keeps documents as files in a directory: read whole, written atomically and durably, guarded by advisory locks that hold
// between processes. It also seals what must not lie on the disk in clear, and keeps the key that signs the audit log. Several stores build
// on it.
//
//   - docfile.go: Dir, a directory of documents. Every access goes through os.Root, so no name and no symbolic link leads out of the
//     directory. Directories are made 0700 and files 0600, while those that exist keep working whatever their mode. Nothing is opened or
//     made until it is needed, and nothing is kept open between calls
//   - lock.go: Lock, an exclusive lock that goes when the process ends, however it ends
//   - secretbox.go, key.go: SecretBox seals values with AES-256-GCM under keys derived from one master key, which is a file that nobody but its
//     owner may read (packageflow-security contract §4.5), and each sealed value opens only for its SecretLocation. No keyring of the operating
//     system is used: servers run without a session that could unlock one. Whoever reads both the key and what it sealed reads the values;
//     sealing protects copies, backups and files shown to others
//   - signer.go: Signer, an ed25519 key (ports.Signer). It is made when something is signed for the first time, and never silently again
//
// Its API may change at any time.
package docfile
