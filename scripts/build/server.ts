// Compiles what users install to dist/: Node runs no TypeScript below node_modules. Each file alone, without types, as Node strips them
// itself: every line stays where its source has it. `npm run check` has judged the types. Only the SDK's are kept, for those who import it.
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type ts from 'typescript';
import { writeBundle } from '../../src/areas/console/engine/keep-bundle.ts';
import { makeBundle } from '../../src/areas/console/engine/make-bundle.ts';
import { buildId } from './build-id.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const sources = ['contract', 'src', 'cli', 'sdk'];
type Write = (file: string, text: string) => void;

/** `from './x.ts'` and `import('./x.ts')`: what is compiled is called .js. */
const relativeImport = /(\bfrom\s*|\bimport\s*\(?\s*)(['"])(\.\.?\/[^'"\n]+)\.ts\2/g;

function compile(fileName: string, write: Write, declare: Declare | undefined) {
  const text = readFileSync(join(root, fileName), 'utf8');
  const name = fileName.slice(0, -'.ts'.length);
  write(`${name}.js`, stripTypeScriptTypes(text).replace(relativeImport, '$1$2$3.js$2'));
  if (declare && fileName.startsWith('sdk/')) write(`${name}.d.ts`, declare(fileName, text));
}

type Declare = (fileName: string, text: string) => string;

/** Loaded only for packages: the compiler is a tool, and an image is built without tools. */
async function loadDeclare(): Promise<Declare> {
  const { default: ts } = await import('typescript');
  const compilerOptions: ts.CompilerOptions = {
    target: ts.ScriptTarget.ESNext,
    module: ts.ModuleKind.ESNext,
    verbatimModuleSyntax: true,
    rewriteRelativeImportExtensions: true,
    isolatedDeclarations: true,
    declaration: true,
  };
  return (fileName, text) => {
    const { outputText, diagnostics = [] } = ts.transpileDeclaration(text, { fileName, compilerOptions, reportDiagnostics: true });
    if (!diagnostics.length) return outputText;
    throw new Error(
      ts.formatDiagnostics(diagnostics, { getCanonicalFileName: (f) => f, getCurrentDirectory: () => root, getNewLine: () => '\n' }),
    );
  };
}

const isForUsers = (file: string) => !/(^|\/)test\//.test(file) && !file.startsWith('sdk/generate/');

/** `alone.ts` are entries of the bundle, which the build completes. */
const isBundled = (file: string) => /^cli\/(docker-credential-)?alone\.ts$/.test(file);

export async function buildServer(out: string, { hasTypes = true } = {}): Promise<void> {
  const declare = hasTypes ? await loadDeclare() : undefined;
  const write: Write = (file, text) => {
    mkdirSync(dirname(join(out, file)), { recursive: true });
    writeFileSync(join(out, file), text);
  };
  rmSync(out, { recursive: true, force: true });
  for (const file of globSync(
    sources.map((s) => `${s}/**/*`),
    { cwd: root, withFileTypes: true },
  )) {
    const path = join(file.parentPath, file.name).slice(root.length + 1);
    if (!file.isFile() || !isForUsers(path) || isBundled(path)) continue;
    if (path.endsWith('.ts')) compile(path, write, declare);
    else cpSync(join(root, path), join(out, path)); // migrations and other data, read from beside the code
  }
  // The console comes joined: esbuild and its libraries are for clones.
  await writeBundle(join(out, 'console'), await makeBundle(root));
  // The code reads its version and its build from the package.json above it.
  const { name, version, type } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  write('package.json', `${JSON.stringify({ name, version, build: buildId(), type, private: true })}\n`);
}
