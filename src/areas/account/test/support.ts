import assert from 'node:assert/strict';
import type { Caller } from '../../../../test/harness/index.ts';
import type { BrowserLike } from '../../../../test/harness/visitor.ts';

export interface Asked {
  deviceCode: string;
  userCode: string;
  verificationUrl: string;
  intervalSeconds: number;
}

/** A program asks to act for somebody. */
export async function asks(program: Caller, name = 'quarterdeck on a laptop'): Promise<Asked> {
  const { status, body } = await program.post('/device/codes', { program: name });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

export const claims = async (program: Caller, { deviceCode }: Pick<Asked, 'deviceCode'>) => {
  const { status, body, headers } = await program.post('/device/tokens', { deviceCode });
  return { status, body, code: headers.get('x-error-code') };
};

/** The person types the code and approves; `fields` are what they choose otherwise. */
export async function approves(
  browser: BrowserLike,
  { userCode }: Pick<Asked, 'userCode'>,
  fields: Record<string, string>,
  path = '/device/approve',
) {
  return browser.post(path, { code: userCode, rights: 'everything', days: '30', ...fields });
}
