// Package docfile stores documents as files in a directory: read whole, written atomically and durably, guarded by advisory locks between processes.
// It also seals values that must not be on the disk in clear, and keeps the key that signs the audit log. Several stores build on it.
//
//   - docfile.go: Dir, a directory of documents. Every access goes through os.Root, so no name and no symbolic link leads out of the
//     directory. New directories have mode 0700 and new files 0600; existing ones work with any mode. Nothing is opened or
//     created until it is needed, and nothing is kept open between calls
//   - lock.go: Lock, an exclusive lock that ends with the process
//   - secretbox.go, key.go: SecretBox seals values with AES-256-GCM under keys derived from one master key, which is a file that only its
//     owner may read (packageflow-security contract §4.5), and each sealed value opens only for its SecretLocation. No keyring of the operating
//     system is used: servers run without a session that could unlock one. Anyone who reads both the key and what it sealed reads the values;
//     sealing protects copies, backups and files shown to others
//   - signer.go: Signer, an ed25519 key (ports.Signer). It is created by the first signature, and never again without an explicit request
//
// Its API may change at any time.
package docfile
