import type { IncomingMessage } from 'node:http';
import { chunksOfBody } from '../../../../kernel/http/body.ts';
import { receiveBytes } from '../../engine/push/uploads.ts';
import type { WriteLease } from '../../engine/push/write-leases.ts';
import { may } from '../../rules/access.ts';
import type { UploadRow } from '../../store/uploads.ts';
import { watchAccess } from './access-watch.ts';
import { OciError } from './errors.ts';
import type { Call, RepositoryAddress } from './request.ts';

/** The body of an upload request. */
interface UploadBody {
  offset: number;
  /** The size of this content in the registry, if it has it and the body is all of it. */
  heldBytes?: number | undefined;
  /** The right to write to the upload; not needed for an upload whose id no other request knows. */
  lease?: WriteLease | undefined;
}

/** Appends the request's body to an upload. Returns the new offset. */
export async function receive(
  call: Call,
  address: RepositoryAddress,
  upload: UploadRow,
  { offset, heldBytes, lease }: UploadBody,
): Promise<number> {
  const { plane, request } = call;
  const incoming = { body: watched(call, address), offset, declared: contentLength(request), heldBytes, mayWrite: lease?.mayWrite };
  const reached = await receiveBytes(plane, plane.hashes, upload, incoming);
  plane.metrics.bytes.series(address.slug, 'in').count(reached - offset);
  return reached;
}

export function contentLength(request: IncomingMessage): number | undefined {
  const given = request.headers['content-length'];
  return given === undefined ? undefined : Number(given);
}

/** The body's chunks, while bytes arrive and the caller has the right to push. A chunk is valid until the next one is requested. */
async function* watched(call: Call, address: RepositoryAddress): AsyncGenerator<Buffer> {
  const { plane, request } = call;
  let revoked = false;
  const unwatch = watchAccess(
    call,
    (access) => may({ ...access, scopes: undefined }, address.slug, address.repository, 'push'),
    () => {
      revoked = true;
      request.destroy();
    },
  );
  request.setTimeout(plane.settings.idleMs, () => request.destroy());
  try {
    // The connection outlives our reading, so a client that is refused in the middle still gets the error.
    for await (const chunk of chunksOfBody(request)) {
      const rest = plane.app.watch.takeTurn();
      if (rest) await rest;
      yield chunk;
    }
  } catch (error) {
    if (revoked) throw new OciError('UNAUTHORIZED', 'the credential was revoked while it pushed', { cause: error });
    throw new OciError('BLOB_UPLOAD_INVALID', 'the body was cut off; ask how much arrived and go on from there', { cause: error });
  } finally {
    unwatch();
    request.setTimeout(0);
  }
}
