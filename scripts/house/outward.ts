import ts from 'typescript';
import { importsOf, lineOf, nodesBelow, type Rule, type Source, treeOf } from './rule.ts';

/** What of each module only listens or only computes; everything else of it can reach out. */
const harmless: Record<string, readonly string[]> = {
  http: ['createServer', 'Server', 'IncomingMessage', 'ServerResponse', 'STATUS_CODES', 'METHODS', 'maxHeaderSize', 'validateHeaderValue'],
  https: ['createServer', 'Server'],
  http2: ['createServer', 'createSecureServer', 'constants'],
  net: ['createServer', 'Server', 'isIP', 'isIPv4', 'isIPv6', 'BlockList', 'SocketAddress'],
  tls: ['createServer', 'Server', 'createSecureContext', 'getCACertificates', 'rootCertificates', 'checkServerIdentity'],
  dns: [],
  'dns/promises': [],
  dgram: [],
};
const reachingGlobals = new Set(['fetch', 'WebSocket', 'EventSource']);
const outsideLibraries = /^(undici|ws|got|axios|node-fetch)$/;
const builtin = (module: string) => module.replace(/^node:/, '');

/** Every way out of the process that this file takes, with its line. */
function waysOut(source: Source): { line: number; way: string }[] {
  const tree = treeOf(source);
  const imports = importsOf(tree);
  const found: { line: number; way: string }[] = [];
  const whole = new Map<string, string>();
  for (const { local, imported, module } of imports) {
    const allowed = harmless[builtin(module)];
    if (outsideLibraries.test(module)) found.push({ line: 1, way: module });
    if (!allowed) continue;
    if (imported === 'default') whole.set(local, builtin(module));
    else if (!allowed.includes(imported)) found.push({ line: 1, way: `${module} ${imported}` });
  }
  const own = new Set(imports.map(({ local }) => local));
  for (const node of nodesBelow(tree)) {
    const line = () => lineOf(tree, node.getStart());
    if (ts.isCallExpression(node) && isLoading(node)) {
      const [given] = node.arguments;
      const module = given && ts.isStringLiteralLike(given) ? given.text : '';
      if (harmless[builtin(module)] || outsideLibraries.test(module)) found.push({ line: line(), way: `${module}, loaded while running` });
    }
    if (ts.isPropertyAccessExpression(node) && node.getText().match(/^globalThis\.(fetch|WebSocket|EventSource)$/))
      found.push({ line: line(), way: node.getText() });
    if (!ts.isIdentifier(node) || !isRead(node)) continue;
    if (reachingGlobals.has(node.text) && !own.has(node.text) && !isDeclaredIn(tree, node.text))
      found.push({ line: line(), way: `the global ${node.text}` });
    const module = whole.get(node.text);
    if (module && !(ts.isPropertyAccessExpression(node.parent) && harmless[module]!.includes(node.parent.name.text)))
      found.push({ line: line(), way: `node:${module} (${node.parent.getText().slice(0, 40)})` });
  }
  return found;
}

const isLoading = ({ expression }: ts.CallExpression) =>
  expression.kind === ts.SyntaxKind.ImportKeyword || (ts.isIdentifier(expression) && expression.text === 'require');

/** A name that stands for its value: not where it is declared, imported, a type, or a property of something else. */
function isRead(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isImportSpecifier(parent) || ts.isImportClause(parent) || ts.isNamespaceImport(parent)) return false;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node;
  if (ts.isShorthandPropertyAssignment(parent)) return true;
  if (ts.isPropertyAssignment(parent) || ts.isVariableDeclaration(parent)) return parent.initializer === node;
  if (ts.isParameter(parent) || ts.isBindingElement(parent)) return parent.initializer === node;
  return !ts.isTypeNode(parent) && !ts.isQualifiedName(parent) && !isNameOf(parent, node);
}
const isNameOf = (parent: ts.Node, node: ts.Identifier) => (parent as { name?: ts.Node }).name === node;

const isDeclaredIn = (tree: ts.SourceFile, name: string) => {
  for (const node of nodesBelow(tree))
    if (
      (ts.isVariableDeclaration(node) || ts.isFunctionDeclaration(node) || ts.isParameter(node) || ts.isBindingElement(node)) &&
      node.name &&
      ts.isIdentifier(node.name) &&
      node.name.text === name
    )
      return true;
  return false;
};

const at = (file: string, text: string): Source[] => [{ file, text }];

export const outward: Rule<Source[]> = {
  name: 'what reaches out goes through the guard',
  enforced: true,
  find: (sources) =>
    sources
      .filter(({ file }) => file.startsWith('src/') && !file.startsWith('src/kernel/guard/'))
      .flatMap((source) =>
        waysOut(source).map(({ line, way }) => ({
          where: source.file,
          what: `line ${line} reaches out past src/kernel/guard, by ${way}; a user's address goes through the guard, an operator's into the exceptions`,
        })),
      ),
  except: [
    [/^src\/kernel\/db(\/socket)?\.ts$/, 'the database is the operator’s'],
    [/^src\/admin\/doctor\/(ports|dns)\.ts$/, 'asks our own port, and the operator’s name servers, whether they answer'],
    [/^src\/commands\/health\.ts$/, 'asks the port of the server that the settings here describe'],
    [/^src\/identity\/(.+\/)?payment\.ts$/, 'the payment provider is the operator’s'],
    [/^src\/areas\/oncall\/(tasks|.+heartbeat)\.ts$/, 'the heartbeat goes to an address of the operator’s'],
    [/\/twilio\/client\.ts$/, 'where Twilio is, the operator says'],
    [/\/prober\/(\w+\/)?link\.ts$/, 'to the server that the operator named'],
    [/\/prober\/(\w+\/)?canaries\.ts$/, 'addresses that the operator named'],
    [/^src\/kernel\/dns\/(servers|transport)\.ts$/, 'asks the operator’s resolvers, and name servers whose addresses were judged'],
    [/\/local\/prober-directory\.ts$/, 'a unix socket of our own'],
    [/^src\/try\/dns-server\.ts$/, 'answers queries that came to it on loopback, and asks none'],
    [/^src\/kernel\/(smtp\/secure|tls\/proof-connections)\.ts$/, 'wraps connections that came to us, and makes none'],
    [
      /^src\/drivers\/process\/clients\/(dial|etcd|etcd-snapshot|watch-end)\.ts$/,
      'programs that we started on this machine, and our own listener of a cluster',
    ],
    [/^src\/areas\/clusters\/clients\/mesh\/dialer-program\.ts$/, 'connects inside a mesh’s namespace, where its guard sends it'],
  ],
  planted: [
    at('src/areas/x/a.ts', 'export const a = () => fetch("https://example.com");'),
    at('src/areas/x/a.ts', 'export const a = (by = fetch) => by("https://example.com");'),
    at('src/areas/x/a.ts', 'export const a = () => globalThis.fetch("https://example.com");'),
    at('src/drivers/x/a.ts', "import { connect } from 'node:net';"),
    at('src/identity/a.ts', "import { request } from 'node:https';"),
    at('src/identity/a.ts', "import http from 'node:http';\nhttp.get('http://example.com');"),
    at('src/identity/a.ts', "import * as http from 'http';\nconst client = http;"),
    at('src/programs/x/a.ts', "import { connect as dial } from 'node:net';"),
    at('src/programs/x/a.ts', "import { connect } from 'node:tls';"),
    at('src/areas/x/a.ts', "import { lookup } from 'node:dns';"),
    at('src/areas/x/a.ts', "import dns from 'node:dns/promises';\nawait dns.resolve4('example.com');"),
    at('src/areas/x/a.ts', "const { connect } = await import('node:net');"),
    at('src/areas/x/a.ts', "new WebSocket('wss://example.com');"),
  ],
  innocent: [
    at('src/areas/x/a.ts', "import type { request } from 'node:http';\nexport type R = typeof request;"),
    at('src/areas/x/a.ts', "import http, { type IncomingMessage } from 'node:http';\nexport const s: http.Server = http.createServer();"),
    at('src/areas/x/a.ts', 'export const a = (guard: { fetch(url: string): void }) => guard.fetch("https://example.com");'),
    at('src/areas/x/a.ts', "import { isIP } from 'node:net';\nexport const fetch = isIP; fetch('');"),
    at('src/kernel/guard/a.ts', "import { connect } from 'node:net';"),
  ],
};
