import { requireFree, withoutIpv6 } from './listening-sockets.ts';

/** Undefined: the address is free. Else the code with which the system refuses it. */
export async function tryBind(at: { host: string; port: number }): Promise<string | undefined> {
  try {
    await withoutIpv6(at, requireFree);
    return undefined;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code ?? message;
  }
}
