// One install at a time in a clone. The lock is a directory, because creating one is atomic.
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stop } from '../bin/hand-over.mjs';

const beatMs = 1_000;
/** Without a beat for so long its holder is gone, though somebody has its pid: the number was given again, or is another container's. */
const silenceMs = 120_000;

/** Runs `work` alone. It names the processes that write for it: one of those may outlive us, and the lock lasts as long as it. */
export async function withInstallLock(path, work) {
  await acquire(path);
  const writers = [process.pid];
  let beats = 0;
  const beating = setInterval(() => beat(path, writers, ++beats), beatMs);
  const alsoWrites = (pid) => {
    writers.push(pid);
    beat(path, writers, ++beats);
  };
  const release = () => rmSync(path, { recursive: true, force: true });
  process.once('exit', release);
  try {
    return await work(alsoWrites);
  } finally {
    clearInterval(beating);
    process.off('exit', release);
    release();
  }
}

async function acquire(path) {
  let told = false;
  let seen = { sign: '', at: performance.now() };
  for (;;) {
    try {
      mkdirSync(path);
      beat(path, [process.pid], 0);
      return;
    } catch (error) {
      if (error.code !== 'EEXIST')
        stop(`nothing can be installed: ${path} cannot be written (${error.code}); give this user the clone's directory`);
    }
    const sign = signOfLife(path);
    if (sign !== seen.sign) seen = { sign, at: performance.now() };
    const writers = sign.split(' ')[0].split(',').map(Number);
    const alive = sign === '' || writers.some(isAlive);
    if (!alive || performance.now() - seen.at > silenceMs) {
      takeAway(path, sign);
      continue;
    }
    if (!told) process.stderr.write('another start is installing; waiting for it …\n');
    told = true;
    await sleep(100);
  }
}

/** Who writes under it and which beat this is; empty in the moment before the first. */
function signOfLife(path) {
  try {
    return readFileSync(join(path, 'holder'), 'utf8');
  } catch {
    return '';
  }
}

function beat(path, writers, count) {
  try {
    writeFileSync(join(path, 'holder'), `${writers.join(',')} ${count}`);
  } catch {
    // Taken from us while the machine slept; npm is still right to finish.
  }
}

/** Moved aside before it is deleted: if a competitor was quicker and the lock is already a new one, it is put back. */
function takeAway(path, judged) {
  const aside = `${path}-${process.pid}`;
  try {
    renameSync(path, aside);
    if (signOfLife(aside) === judged) rmSync(aside, { recursive: true, force: true });
    else renameSync(aside, path);
  } catch {
    // Somebody else took it away: the next turn sees.
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
