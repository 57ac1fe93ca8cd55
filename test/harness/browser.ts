import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type Browser, chromium as driver } from 'playwright-core';

/** Unpacked once a machine; under another name until it is whole, since test files run side by side. */
async function unpacked(): Promise<string> {
  const home = join(tmpdir(), 'quarterdeck-chromium');
  if (existsSync(home)) return home;
  const fresh = `${home}-${process.pid}`;
  await mkdir(fresh);
  const before = { ...process.env };
  // The package unpacks into TMPDIR, and the libraries that a machine may lack only where it thinks itself at Amazon's.
  Object.assign(process.env, { TMPDIR: fresh, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x' });
  try {
    const { default: carried } = await import('@sparticuz/chromium');
    await carried.executablePath();
  } finally {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    Object.assign(process.env, before);
  }
  // Its own names places of the package's choosing.
  await writeFile(
    join(fresh, 'fonts', 'fonts.conf'),
    `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><dir>${home}/fonts</dir><cachedir>${home}/fonts-cache</cachedir></fontconfig>`,
  );
  await rename(fresh, home).catch(() => rm(fresh, { recursive: true, force: true }));
  return home;
}

/** A browser from npm alone, with flags of our own: the package's would switch web security off, and these tests lean on it. */
export async function launchBrowser(): Promise<Browser> {
  const home = await unpacked();
  return driver.launch({
    executablePath: join(home, 'chromium'),
    env: { ...(process.env as Record<string, string>), LD_LIBRARY_PATH: join(home, 'al2023', 'lib'), FONTCONFIG_PATH: join(home, 'fonts') },
    // No sandbox, since it may run as root; no zygote goes with that.
    args: ['--no-sandbox', '--no-zygote', '--disable-gpu', '--font-render-hinting=none', '--hide-scrollbars'],
  });
}

/** Closed at the end of the test. */
export async function browser(t: TestContext): Promise<Browser> {
  const launched = await launchBrowser();
  t.after(() => launched.close());
  return launched;
}
