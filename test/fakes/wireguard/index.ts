import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';

// Stand-ins of `ip` and `wg`, for tests of everything around a mesh's interface: they keep files instead of interfaces, and need no rights. The
// interface itself is tested with the real programs in test/clients.

const ip = (state: string) => `#!/bin/sh
cd '${state}' || exit 1
[ ! -e forbidden ] || { echo 'RTNETLINK answers: Operation not permitted' >&2; exit 2; }
case "$1 $2" in
  'netns list') for name in *; do [ -d "$name" ] && echo "$name (id: 0)"; done; exit 0 ;;
  'netns add') mkdir "$3" && echo "$3" >> made ;;
  'netns del') rm -r "$3" ;;
  'netns exec') [ -d "$3" ] || exit 1; shift 3; [ "$1" = sh ] || exec "$@" ;;
  'link '*) ;;
  -n*)
    [ -d "$2" ] || exit 1
    case "$*" in
      *'addr add'*) echo "inet $5 scope" > "$2/address" ;;
      *'addr show'*) [ ! -e "$2/up" ] || cat "$2/address" ;;
      *' up') touch "$2/up" ;;
    esac ;;
esac
`;

/** Each peer is seen at an address that ends as its own. */
const wg = (state: string) => `#!/bin/sh
cd '${state}' || exit 1
case "$1" in
  setconf|syncconf) cat > "$2/config" ;;
  show)
    [ -e "$2/config" ] || exit 1
    if [ "$3" = listen-port ]; then echo 1; exit 0; fi
    echo "$2" >> asked
    printf 'key\\tkey\\t1\\toff\\n'
    awk '/^PublicKey/ { key = $3 } /^AllowedIPs/ { split($3, a, "[./]"); printf "%s\\t(none)\\t203.0.113.%s:4000\\t%s\\t0\\t0\\t0\\toff\\n", key, a[4], $3 }' "$2/config" ;;
esac
`;

export interface WireguardStandIn {
  /** The configurations of all interfaces. */
  configs(): Promise<string[]>;
  /** How often the peers of the interface with this text in its configuration were asked for. */
  asked(text: string): Promise<number>;
  /** How many interfaces were made so far. */
  made(): Promise<number>;
  /** From now on `ip` is refused, as without the right to. */
  forbid(): Promise<void>;
  allow(): Promise<void>;
}

/** For this process until it ends: a server that stops after its test must not come to the real programs. */
export async function standInForWireguard(): Promise<WireguardStandIn> {
  const dir = await mkdtemp(join(tmpdir(), 'qdw-'));
  const state = join(dir, 'state');
  await mkdir(state);
  for (const [name, text] of Object.entries({ ip: ip(state), wg: wg(state), 'wireguard-go': '#!/bin/sh\n' })) {
    await writeFile(join(dir, name), text);
    await chmod(join(dir, name), 0o755);
  }
  const before = process.env['PATH'];
  process.env['PATH'] = `${dir}:${before}`;
  after(async () => {
    process.env['PATH'] = before;
    await rm(dir, { recursive: true, force: true });
  });
  const namespaces = async () => (await readdir(state, { withFileTypes: true })).filter((each) => each.isDirectory());
  return {
    configs: async () => Promise.all((await namespaces()).map(({ name }) => readFile(join(state, name, 'config'), 'utf8').catch(() => ''))),
    asked: async (text) => {
      const all = await Promise.all(
        (await namespaces()).map(async ({ name }) => [name, await readFile(join(state, name, 'config'), 'utf8').catch(() => '')] as const),
      );
      const asked = (await readFile(join(state, 'asked'), 'utf8')).split('\n');
      const names = all.flatMap(([name, config]) => (config.includes(text) ? name : []));
      return asked.filter((each) => names.includes(each)).length;
    },
    made: async () => (await readFile(join(state, 'made'), 'utf8')).split('\n').length - 1,
    forbid: () => writeFile(join(state, 'forbidden'), ''),
    allow: () => rm(join(state, 'forbidden')),
  };
}
