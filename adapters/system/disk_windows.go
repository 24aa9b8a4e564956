package system

import "golang.org/x/sys/windows"

// FreeSpace returns how many bytes this user may still write to the file system of a directory.
func FreeSpace(dir string) (free uint64, err error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err == nil {
		err = windows.GetDiskFreeSpaceEx(path, &free, nil, nil)
	}
	return free, err
}
