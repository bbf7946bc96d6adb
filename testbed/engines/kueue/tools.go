//go:build tools

// Package tools names what is built, so that go.mod and go.sum hold it.
package tools

import (
	_ "sigs.k8s.io/kueue/cmd/kueue"
)
