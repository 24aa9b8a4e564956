// Package packfile keeps context packs as files, as the original does: one Markdown file with YAML front matter for each pack, in
// ROOT/packs. It also reads the source lines that packs quote.
//
// Store is a packport.Repository and a packport.Doctor, and shares a directory safely with other processes of this program and with the
// original. Beside packs it keeps ROOT/trash, for deleted packs, and ROOT/quarantine, for files its doctor set aside; neither is ever read
// as packs again. The store opens nothing until it is used and holds nothing open, so it needs no closing. A file larger than MaxFile is
// neither written nor read.
//
//   - packfile.go, create.go: Store; doctor.go: damaged and hidden content found, and files set aside
//   - format.go, frontmatter.go, encode.go: the file format (context-pack contract §7.1, §7.2), Decode and Encode
//   - index.go, listing.go, cache.go, stamp.go: caches of summaries, in memory and for the next process, and of packs. The file system is the truth: an
//     entry counts only while its file's identity, size and both times, or its bytes, are what they were
//   - srcfile.go, walk.go: Source, a packport.Excerpts: lines of source files below named roots. Nothing outside a root is read: every file
//     is opened through os.Root, and a symbolic link is followed only while it stays inside. Nothing is kept open between calls, and a
//     chunk of a file and at most one line are held at a time, whatever the file's size
//
// Its API may change at any time.
package packfile
