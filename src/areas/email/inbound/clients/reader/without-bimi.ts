import { registerHooks } from 'node:module';

// Loaded before mailauth. A reader asks for no BIMI (`disableBimi`), and what BIMI needs, an HTTP client, certificates and XML, is most of
// what a thread would load.

const unused = ['/mailauth/lib/bimi/index.js', '/mailauth/lib/bimi/validate-svg.js'];

registerHooks({
  load: (url, context, nextLoad) =>
    unused.some((end) => url.endsWith(end))
      ? { format: 'commonjs', source: 'module.exports = {};', shortCircuit: true }
      : nextLoad(url, context),
});
