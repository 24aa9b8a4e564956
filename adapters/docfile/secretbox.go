package docfile

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"sync"

	"github.com/countersign-dev/countersign/domain/fault"
)

// SecretKeyFile is the name of the file that holds the master key.
const SecretKeyFile = "secret.key"

// version is the format of sealed values: version(1) ‖ nonce(12) ‖ ciphertext. No JSON starts with it. While the key is being replaced, both keys are
// tried.
const version = 1

// The errors of sealed secrets.
var (
	ErrSecretKey  = fault.New(fault.Unavailable, "secret_key_unusable", "the key that seals secrets cannot be used")
	ErrSecretLost = fault.New(fault.State, "secret_unreadable", "a sealed value cannot be opened with the current key")
)

// SecretLocation is where a sealed value is stored. It opens nowhere else. Table and Column, which contain no bar, also select the derived key.
type SecretLocation struct{ Table, Row, Column string }

// bound returns the data that the ciphertext is bound to. Only Row may contain a bar, so that no two locations are equal.
func (p SecretLocation) bound() []byte {
	return []byte(p.Table + "|" + p.Row + "|" + p.Column + "|" + strconv.Itoa(version))
}

// SecretBox seals and opens values. It is safe for concurrent use, and several processes may use the same key.
type SecretBox struct {
	dir  *Dir
	mu   sync.Mutex
	ring *keyRing // as the file was last read; nil before
}

// NewSecretBox returns the box whose key is in dir. Nothing is opened or created before a value is sealed or opened: sealing creates the directory
// (0700) and the key (0600) if they are missing.
func NewSecretBox(dir string) *SecretBox { return &SecretBox{dir: NewDir(dir)} }

// File returns the path of the key.
func (b *SecretBox) File() string { return b.dir.File(SecretKeyFile) }

// IsSealed reports whether the stored bytes look like the result of Seal and not like text.
func IsSealed(stored []byte) bool { return len(stored) > 0 && stored[0] == version }

// Seal encrypts plain. Sealing the same value again gives other bytes. It fails with ErrKey if the key cannot be read or created, or if others may
// read it.
//
// Call it inside the transaction that stores the result: Rotate relies on earlier results being stored.
func (b *SecretBox) Seal(at SecretLocation, plain []byte) ([]byte, error) {
	r, err := b.current()
	if errors.Is(err, fs.ErrNotExist) {
		r, err = b.create()
	}
	if err != nil {
		return nil, err
	}
	aead, err := r.cipher(0, at)
	if err != nil {
		return nil, err
	}
	blob := make([]byte, 1, 1+aead.Overhead()+len(plain))
	blob[0] = version
	return aead.Seal(blob, nil, plain, at.bound()), nil
}

// Open decrypts a value that was sealed for that location. It fails with ErrSecretLost if it was sealed for another location or under another key, or was
// modified.
func (b *SecretBox) Open(at SecretLocation, blob []byte) ([]byte, error) {
	if !IsSealed(blob) {
		return nil, ErrSecretLost.WithMessage("%s of %s %q was sealed by an unknown version of Countersign; update this program", at.Column, at.Table, at.Row)
	}
	b.mu.Lock()
	had := b.ring
	b.mu.Unlock()
	if had != nil {
		if plain, opened, err := had.open(at, blob); opened || err != nil {
			return plain, err
		}
	}
	now, err := b.current() // the key may have been replaced since it was read
	if errors.Is(err, fs.ErrNotExist) {
		return nil, b.lost(at, "is missing")
	}
	if err != nil {
		return nil, err
	}
	if now != had {
		if plain, opened, err := now.open(at, blob); opened || err != nil {
			return plain, err
		}
	}
	return nil, b.lost(at, "is not the one that sealed it, or the value was altered")
}

func (b *SecretBox) lost(at SecretLocation, why string) error {
	return ErrSecretLost.WithMessage("%s of %s %q cannot be opened: the key %s %s; restore that file from a copy, or delete what it sealed and store it again",
		at.Column, at.Table, at.Row, b.File(), why)
}

// current returns the keys in the file, or fs.ErrNotExist. Checking whether the file has changed takes one or two microseconds.
func (b *SecretBox) current() (*keyRing, error) {
	info, err := os.Stat(b.File())
	if err != nil {
		return nil, b.unusable(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ring == nil || !b.ring.from(info) {
		r, err := b.read()
		if err != nil {
			return nil, err
		}
		b.ring = r
	}
	return b.ring, nil
}

// keyRing is the master keys in one version of the file, and their ciphers. There is one key; while it is replaced there are two, the newest first.
type keyRing struct {
	info    fs.FileInfo
	masters [][]byte
	mu      sync.Mutex
	ciphers map[purpose]cipher.AEAD
}

// purpose is the use of a derived key.
type purpose struct {
	master        int
	table, column string
}

// from reports whether the file is unchanged since.
func (r *keyRing) from(info fs.FileInfo) bool {
	return os.SameFile(r.info, info) && r.info.ModTime().Equal(info.ModTime()) && r.info.Size() == info.Size() && r.info.Mode() == info.Mode()
}

// open tries every key, and reports whether one fits.
func (r *keyRing) open(at SecretLocation, blob []byte) ([]byte, bool, error) {
	for i := range r.masters {
		aead, err := r.cipher(i, at)
		if err != nil {
			return nil, false, err
		}
		if plain, err := aead.Open(nil, nil, blob[1:], at.bound()); err == nil {
			return plain, true, nil
		}
	}
	return nil, false, nil
}

// cipher returns the cipher for the location under that master key.
func (r *keyRing) cipher(master int, at SecretLocation) (cipher.AEAD, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := purpose{master, at.Table, at.Column}
	if made, there := r.ciphers[of]; there {
		return made, nil
	}
	key, err := hkdf.Key(sha256.New, r.masters[master], nil, "countersign secrets at rest v1: "+at.Table+"."+at.Column, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	made, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	r.ciphers[of] = made
	return made, nil
}
