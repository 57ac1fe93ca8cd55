import type { Quarterdeck } from '../../../../test/harness/index.ts';
import { type DkimKeys, makeKeyMaker } from '../domains/engine/dkim-keys.ts';
import { email } from '../index.ts';

let kept: Promise<DkimKeys> | undefined;
let domains = 0;

/** To make keys takes a tenth of a second: the domains of tests that ask nothing about them share a pair, each under selectors of its own. */
export function keepKeys(qd: Quarterdeck): void {
  qd.own(email).makeKeys = async (org) => {
    kept ??= makeKeyMaker()(org);
    const { rsa, ed } = await kept;
    const stem = `qd${(++domains).toString(16).padStart(8, '0')}`;
    return { rsa: { ...rsa, selector: `${stem}r` }, ed: { ...ed, selector: `${stem}e` } };
  };
}
