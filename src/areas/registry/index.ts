/*
 * The container registry: OCI distribution API, token service, pull-through cache, garbage collection and retention.
 *
 * Folders. planes/oci (/v2) and planes/token (/token) listen. operations/ is the control API. engine/ holds every act, whichever side asks
 * for it. store/ holds the SQL, one file per table or task. rules/ is pure: names, manifests, retention, wildcards. clients/ talks to
 * upstreams and OIDC issuers.
 *
 * Data. registry → repository → manifest → tag. A blob row is one object in the storage and is shared by all repositories that link it
 * (repository_blob). manifest_blob and manifest_child say what an image needs. The registry's row holds quota, used and reserved bytes.
 *
 * Push: upload (row, lease, reservation) → blob (object, row, link) → manifest (row, tags). Pull: content-cache.ts, then the storage.
 * Removal: manifest → review of its links → unlinked blobs are marked dying → object deleted → row deleted (engine/gc/collect.ts).
 *
 * States of a blob: linked and needed; linked and unneeded (collected after the delay); promised (a purge took the link, but a running push
 * was told of it); dying (invisible, its object is being deleted).
 *
 * Lock order: the credential first, then content (for a manifest: repository, links, manifest, children, tags), the registry's row last.
 *
 * Crash. Each step is one transaction that also writes the queue entry for the next step, so a restart continues from the entry. An object
 * without a row is removed by the daily scrub; an upload can be continued or expires with its reservation.
 */

import { defineArea } from '../area.ts';
import { deleteKeysJob, revokeKeysJob } from './engine/credentials/keys.ts';
import { loadKey } from './engine/credentials/loader.ts';
import { registryOverview } from './engine/ports/overview.ts';
import { registrySearch } from './engine/ports/search.ts';
import { registryStory } from './engine/ports/story.ts';
import { uncountJob } from './engine/recount-indexes.ts';
import { openRegistry } from './open.ts';
import { createRegistry } from './operations/create-registry.ts';
import { createRegistryKey } from './operations/create-registry-key.ts';
import { createRegistryLogin } from './operations/create-registry-login.ts';
import { createRegistryOidcRule } from './operations/create-registry-oidc-rule.ts';
import { deleteRegistry } from './operations/delete-registry.ts';
import { deleteRegistryManifest } from './operations/delete-registry-manifest.ts';
import { deleteRegistryOidcRule } from './operations/delete-registry-oidc-rule.ts';
import { deleteRegistryRepository } from './operations/delete-registry-repository.ts';
import { deleteRegistryTag } from './operations/delete-registry-tag.ts';
import { deleteRegistryUpstreamCredential } from './operations/delete-registry-upstream-credential.ts';
import { exchangeRegistryOidcToken } from './operations/exchange-registry-oidc-token.ts';
import { getRegistry } from './operations/get-registry.ts';
import { getRegistryImage } from './operations/get-registry-image.ts';
import { getRegistryUsage } from './operations/get-registry-usage.ts';
import { listRegistries } from './operations/list-registries.ts';
import { listRegistryKeys } from './operations/list-registry-keys.ts';
import { listRegistryManifests } from './operations/list-registry-manifests.ts';
import { listRegistryOidcRules } from './operations/list-registry-oidc-rules.ts';
import { listRegistryRepositories } from './operations/list-registry-repositories.ts';
import { listRegistryTags } from './operations/list-registry-tags.ts';
import { listRegistryUpstreamCredentials } from './operations/list-registry-upstream-credentials.ts';
import { listRegistryUpstreams } from './operations/list-registry-upstreams.ts';
import { matchRegistryOidcSubject } from './operations/match-registry-oidc-subject.ts';
import { revokeRegistryKey } from './operations/revoke-registry-key.ts';
import { revokeRegistryLogin } from './operations/revoke-registry-login.ts';
import { setRegistryUpstreamCredential } from './operations/set-registry-upstream-credential.ts';
import { updateRegistry } from './operations/update-registry.ts';
import { liveKeys } from './store/blobs.ts';
import { registriesOf } from './store/registries.ts';
import { tasks } from './tasks.ts';

export const registry = defineArea({
  name: 'registry',
  operations: [
    listRegistries,
    createRegistry,
    getRegistry,
    getRegistryUsage,
    updateRegistry,
    deleteRegistry,
    createRegistryLogin,
    revokeRegistryLogin,
    listRegistryKeys,
    createRegistryKey,
    revokeRegistryKey,
    deleteRegistryTag,
    deleteRegistryManifest,
    deleteRegistryRepository,
    listRegistryTags,
    listRegistryManifests,
    getRegistryImage,
    listRegistryRepositories,
    listRegistryOidcRules,
    createRegistryOidcRule,
    matchRegistryOidcSubject,
    deleteRegistryOidcRule,
    exchangeRegistryOidcToken,
    listRegistryUpstreams,
    listRegistryUpstreamCredentials,
    setRegistryUpstreamCredential,
    deleteRegistryUpstreamCredential,
  ],
  migrations: { schema: 'registry', folder: new URL('./migrations/', import.meta.url) },
  stored: liveKeys,
  sealed: [
    { table: 'registry.signing_key', column: 'sealed', id: 'id' },
    { table: 'registry.upstream_credential', column: 'password', id: "(registry_id || '/' || host)" },
  ],
  resources: [
    {
      service: 'registry',
      permission: 'registry.registry.read',
      list: async (tx, org, visible) => (await registriesOf(tx, org, visible)).map(({ id, slug }) => ({ id, name: slug })),
    },
  ],
  overview: [registryOverview],
  search: [registrySearch],
  story: [registryStory],
  loaders: { reg: loadKey },
  jobs: [deleteKeysJob, revokeKeysJob, uncountJob],
  tasks,
  open: openRegistry,
});
