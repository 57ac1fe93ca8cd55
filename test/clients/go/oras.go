// What the tests do with ORAS: push, attach, discover, pull, copy, tags and delete, by its own library.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	oras "oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/file"
	"oras.land/oras-go/v2/content/memory"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
)

func check[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

func repository(name string) *remote.Repository {
	repo := check(remote.NewRepository(name))
	repo.PlainHTTP = true
	repo.Client = &auth.Client{Cache: auth.NewCache(), Credential: auth.StaticCredential(repo.Reference.Registry, auth.Credential{
		Username: os.Getenv("ORAS_USER"), Password: os.Getenv("ORAS_PASSWORD"),
	})}
	// Native or nothing: a registry of version 1.1 needs no tags for referrers.
	if err := repo.SetReferrersCapability(true); err != nil {
		check(0, err)
	}
	return repo
}

// oras-go <command> <repository>[:tag] [arguments]
func main() {
	ctx := context.Background()
	command, name := os.Args[1], os.Args[2]
	args := os.Args[3:]
	repo := repository(name)
	at := repo.Reference.Reference

	// pack: a manifest around one file, perhaps about a subject
	pack := func(artifactType, path string, subject *ocispec.Descriptor) ocispec.Descriptor {
		store := check(file.New("."))
		layer := check(store.Add(ctx, path, "application/vnd.test.file", path))
		options := oras.PackManifestOptions{Subject: subject, Layers: []ocispec.Descriptor{layer}}
		packed := check(oras.PackManifest(ctx, store, oras.PackManifestVersion1_1, artifactType, options))
		check(0, store.Tag(ctx, packed, packed.Digest.String()))
		check(oras.Copy(ctx, store, packed.Digest.String(), repo, "", oras.DefaultCopyOptions))
		return packed
	}

	switch command {
	case "push": // <type> <file>
		packed := pack(args[0], args[1], nil)
		check(0, repo.Tag(ctx, packed, at))
		fmt.Println(packed.Digest)
	case "attach": // <type> <file>
		subject := check(repo.Resolve(ctx, at))
		fmt.Println(pack(args[0], args[1], &subject).Digest)
	case "discover": // [type]
		subject := check(repo.Resolve(ctx, at))
		check(0, repo.Referrers(ctx, subject, strings.Join(args, ""), func(found []ocispec.Descriptor) error {
			for _, each := range found {
				fmt.Println(each.Digest, each.ArtifactType)
			}
			return nil
		}))
	case "pull": // the bytes of the first layer
		store := memory.New()
		root := check(oras.Copy(ctx, repo, at, store, "", oras.DefaultCopyOptions))
		layers := check(content.Successors(ctx, store, root))
		os.Stdout.Write(check(content.FetchAll(ctx, store, layers[len(layers)-1])))
	case "copy": // <to>, with everything that refers to it
		to := repository(args[0])
		fmt.Println(check(oras.ExtendedCopy(ctx, repo, at, to, to.Reference.Reference, oras.DefaultExtendedCopyOptions)).Digest)
	case "tags":
		check(0, repo.Tags(ctx, "", func(tags []string) error {
			for _, tag := range tags {
				fmt.Println(tag)
			}
			return nil
		}))
	case "delete":
		check(0, repo.Delete(ctx, check(repo.Resolve(ctx, at))))
	}
}
