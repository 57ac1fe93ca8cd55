import ts from 'typescript';
import { lineOf, nodesBelow, type Rule, type Source, treeOf } from './rule.ts';

// An exception in a handler of a socket or server ends the process. Every handler in src/ that strangers can reach goes through
// `guarded(name, peer, handler)` of src/kernel/faults, or is so small that it cannot throw. The same holds for callbacks: of `finished` and
// `pipeline`, of `connect`, of DNS lookups, of requests, of a socket's own `setTimeout`, `end`, `write` and `send`.
//
// Not covered:
// - Timers (`setTimeout`, `setInterval`, `setImmediate`, `nextTick`, `queueMicrotask`): their callbacks take no argument that a peer sent, and
//   there are a hundred. One that reads what a peer left behind is a callback that the reviewer must see; its exception ends the process,
//   and the parent starts another.
// - A callback that is passed by a name from another file, and methods of subclasses of streams: `_transform` and `_write`, whose exceptions
//   node does not catch either. This rule reads one file at a time and knows no types.
// - `async` callbacks of timers: rule `promises` asks for their `catch`.

const listening = new Set(['on', 'once', 'addListener', 'prependListener', 'prependOnceListener']);
/** Options of servers and connections that take a function which runs on what the peer sent. */
const callbackOptions = new Set(['SNICallback', 'ALPNCallback', 'shouldUpgradeCallback', 'clientErrorHandler', 'frameworkErrors']);
/** Calls that do not throw, whatever state their object is in. */
const tameCalls = new Set(['destroy', 'abort', 'clearTimeout', 'clearInterval', 'delete', 'resolve', 'reject', 'resume', 'pause']);

/** Functions whose last argument is called with the end of a stream, a connection or a lookup. */
const callingBack = new Set([
  'finished',
  'pipeline',
  'connect',
  'createConnection',
  'lookup',
  'resolve4',
  'resolve6',
  'resolveMx',
  'resolveTxt',
]);
/** Methods whose names others have too: only of what is named as a connection. */
const callingBackOfPeers = new Set(['setTimeout', 'end', 'write', 'send', 'request', 'get', 'close', 'destroySoon']);
const peerNames = /^(socket|way|stream|request|response|reply|upstream|http|https|http2|session|peer|connection)$/i;

/** What only the operator and our own programs reach. */
const inner =
  /^src\/(admin|boot\/(external|follow-writable|pooler)|commands|main|kernel\/(postgres|programs|jobs|db|data|cache|listen|storage)|areas\/email\/inbound\/clients\/reader|areas\/uptime\/planes\/agents\/(local|changes)|programs\/prober\/main)\b/;

function isTame(node: ts.Node | undefined): boolean {
  if (!node) return true;
  if (ts.isArrowFunction(node)) return isTame(node.body);
  if (ts.isBlock(node)) return node.statements.every(isTame);
  if (ts.isExpressionStatement(node) || ts.isVoidExpression(node) || ts.isParenthesizedExpression(node)) return isTame(node.expression);
  if (ts.isCallExpression(node)) return tameCalls.has(nameOf(node.expression)) && isPlain(node.expression) && node.arguments.every(isPlain);
  return isPlain(node);
}

/** A name, a property of one, or a literal: reading it calls nothing. */
function isPlain(node: ts.Node): boolean {
  if (ts.isPropertyAccessExpression(node)) return isPlain(node.expression);
  return (
    ts.isIdentifier(node) ||
    ts.isLiteralExpression(node) ||
    node.kind === ts.SyntaxKind.ThisKeyword ||
    ts.isPrivateIdentifier(node) ||
    isWord(node)
  );
}
const isWord = ({ kind }: ts.Node) => kind === ts.SyntaxKind.TrueKeyword || kind === ts.SyntaxKind.FalseKeyword;

const nameOf = (node: ts.Expression): string =>
  ts.isPropertyAccessExpression(node) ? node.name.text : ts.isIdentifier(node) ? node.text : '';

const isGuarded = (node: ts.Node): boolean => ts.isCallExpression(node) && nameOf(node.expression) === 'guarded';

/** A handler by its name: made by `guarded` in the same file, or the end of a promise. */
function isSafe(tree: ts.SourceFile, handler: ts.Expression): boolean {
  if (isGuarded(handler)) return true;
  if (ts.isArrowFunction(handler)) return isTame(handler);
  if (!ts.isIdentifier(handler)) return false;
  if (tameCalls.has(handler.text)) return true;
  return nodesBelow(tree).some(
    (node) =>
      ts.isVariableDeclaration(node) &&
      node.name.getText() === handler.text &&
      node.initializer !== undefined &&
      (isGuarded(node.initializer) || isTameFunction(node.initializer)),
  );
}
const isTameFunction = (node: ts.Node) => ts.isArrowFunction(node) && isTame(node);

const isFunctionLike = (node: ts.Node) =>
  ts.isArrowFunction(node) || ts.isFunctionExpression(node) || ts.isIdentifier(node) || ts.isCallExpression(node);

/** A stream as the last argument is a name too: only a name that this file gives to a function counts. */
function isCallback(tree: ts.SourceFile, node: ts.Node): boolean {
  if (!ts.isIdentifier(node)) return ts.isArrowFunction(node) || ts.isFunctionExpression(node);
  return nodesBelow(tree).some((other) => {
    if (ts.isFunctionDeclaration(other)) return other.name?.text === node.text;
    return ts.isVariableDeclaration(other) && other.name.getText() === node.text && ts.isArrowFunction(other.initializer ?? other);
  });
}

function callsBack(called: ts.Expression): boolean {
  if (callingBack.has(nameOf(called))) return true;
  if (!(ts.isPropertyAccessExpression(called) && callingBackOfPeers.has(called.name.text))) return false;
  return peerNames.test(nameOf(called.expression).replace(/^#/, ''));
}

function unguarded(source: Source): { line: number; what: string }[] {
  const tree = treeOf(source);
  const found: { line: number; what: string }[] = [];
  const note = (node: ts.Node, what: string) => found.push({ line: lineOf(tree, node.getStart()), what });
  for (const node of nodesBelow(tree)) {
    if (ts.isPropertyAssignment(node) && callbackOptions.has(node.name.getText()) && !isSafe(tree, node.initializer))
      note(node, node.name.getText());
    if (!ts.isCallExpression(node)) continue;
    const { expression, arguments: given } = node;
    if (ts.isPropertyAccessExpression(expression) && listening.has(expression.name.text) && given.length >= 2) {
      if (expression.expression.getText() === 'process' || isSafe(tree, given[1]!)) continue;
      note(expression.name, `${expression.name.text}(${given[0]!.getText()})`);
    }
    const handler = given.at(-1);
    if (handler && callsBack(expression) && isCallback(tree, handler) && !isSafe(tree, handler)) note(node, `${nameOf(expression)}()`);
    if (nameOf(expression) === 'createServer' && handler && isFunctionLike(handler) && !isSafe(tree, handler)) note(node, 'createServer');
  }
  return found;
}

const at = (file: string, text: string): Source[] => [{ file, text }];

export const handlersAreGuarded: Rule<Source[]> = {
  name: 'handlers that strangers reach are guarded',
  enforced: true,
  find: (sources) =>
    sources
      .filter(({ file }) => file.startsWith('src/') && !inner.test(file))
      .flatMap((source) =>
        unguarded(source).map(({ line, what }) => ({
          where: source.file,
          what: `line ${line}: an exception in the handler of ${what} would end the process; wrap it in guarded() of src/kernel/faults`,
        })),
      ),
  except: [],
  planted: [
    at('src/areas/x/planes/a.ts', "server.on('secureConnection', (socket) => takeIn(socket));"),
    at('src/areas/x/planes/a.ts', "socket.once('data', onData);"),
    at('src/drivers/x/planes/a.ts', "socket.once('data', onData);"),
    at('src/areas/x/planes/a.ts', "const onData = (chunk) => { read(chunk); };\nsocket.on('data', onData);"),
    at('src/kernel/http/a.ts', "a.on('error', () => {}).on('data', (chunk) => read(chunk));"),
    at('src/kernel/http/a.ts', 'createServer({}, (request, response) => answer(request, response));'),
    at('src/kernel/http/a.ts', 'createServer({ SNICallback: (name, done) => done(null, find(name)) });'),
    at('src/kernel/http/a.ts', "socket.on('close', () => room.delete(find(socket)));"),
    at('src/kernel/http/a.ts', 'finished(request, { writable: false }, (error) => look(error));'),
    at('src/kernel/http/a.ts', 'pipeline(body, target, (error) => { if (error) tell(error.cause.code); });'),
    at('src/kernel/http/a.ts', 'const socket = tls.connect({ host, port }, () => check(socket.getPeerCertificate()));'),
    at('src/kernel/dns/a.ts', 'lookup(name, { all: true }, (error, found) => take(found[0].address));'),
    at('src/kernel/http/a.ts', 'function look(error) { tell(error.cause.code); }\nfinished(request, look);'),
    at('src/areas/x/planes/a.ts', "this.socket.setTimeout(1_000, () => this.say('421'));"),
    at('src/areas/x/planes/a.ts', "socket.end('bye', function () { leave(socket); });"),
  ],
  innocent: [
    at('src/areas/x/planes/a.ts', "server.on('secureConnection', guarded('x', undefined, (socket) => takeIn(socket)));"),
    at('src/areas/x/planes/a.ts', "const onData = guarded('x', socket, read);\nsocket.on('data', onData);"),
    at('src/areas/x/planes/a.ts', "socket.on('error', () => {}).once('close', () => clearTimeout(timer));"),
    at('src/areas/x/planes/a.ts', "new Promise((resolve, reject) => server.once('error', reject).once('listening', resolve));"),
    at('src/areas/x/planes/a.ts', "way.on('close', () => void socket.destroy());"),
    at('src/kernel/http/a.ts', "finished(request, guarded('x', request, (error) => look(error)));"),
    at('src/kernel/http/a.ts', 'await pipeline(body, counted, target);'),
    at('src/kernel/http/a.ts', 'pipeline(body, target, () => {});'),
    at('src/areas/x/planes/a.ts', "socket.end('bye', () => socket.destroy());"),
    at('src/areas/x/planes/a.ts', 'app.db.write((tx) => note(tx, caches.get(key, () => fill(key))));'),
    at('src/kernel/postgres/a.ts', "child.on('exit', () => look(child));"),
  ],
};
