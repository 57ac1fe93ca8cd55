#!/usr/bin/env node
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { handOver } from './hand-over.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const args = [process.argv[2] ?? '', version];

// A clone runs its sources, the npm package compiled ones. Nothing is installed here: a client waits for the answer.
if (existsSync(join(root, 'cli', 'docker-credential.ts'))) handOver({ root, entry: 'cli/docker-credential.ts', args });
else handOver({ root, entry: 'dist/cli/docker-credential.js', args });
