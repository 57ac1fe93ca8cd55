/** Loaded before the program (`--import`), to measure RSA by itself: the second signature costs nothing, and is none. */
import crypto, { type KeyObject } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

const { sign } = crypto;
const nothing = Buffer.alloc(64);
crypto.sign = ((...args: Parameters<typeof sign>) =>
  (args[2] as KeyObject).asymmetricKeyType === 'ed25519' ? nothing : sign(...args)) as typeof sign;
syncBuiltinESMExports();
