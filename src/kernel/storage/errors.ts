import { Refusal } from '../errors.ts';

export class StorageFull extends Refusal {
  constructor(cause: unknown) {
    super(503, 'storage_full', 'the storage is full; free some space in it, then send this again', { cause });
  }
}

export class StorageUnavailable extends Refusal {
  constructor(cause: unknown) {
    super(503, 'storage_unavailable', 'the storage does not answer as it should; try again in a moment', { cause });
  }
}

export class DigestMismatch extends Refusal {
  constructor(expected: string, actual: string) {
    super(400, 'digest_mismatch', `the content has the digest ${actual}, not ${expected}; send it again`);
  }
}

export class RangeUnsatisfiable extends Refusal {
  constructor() {
    super(416, 'range_unsatisfiable', 'the range begins beyond the end of the content; ask for less');
  }
}

export class OffsetMismatch extends Refusal {
  readonly offset: number;

  constructor(offset: number) {
    super(416, 'offset_mismatch', `the upload holds ${offset} bytes; go on from there`);
    this.offset = offset;
  }
}

export class UploadUnknown extends Refusal {
  constructor() {
    super(404, 'upload_unknown', 'unknown upload; it was finished, cancelled or has expired, so start a new one');
  }
}

export class UploadBusy extends Refusal {
  constructor() {
    super(409, 'upload_busy', 'another request is writing to this upload; wait until it has ended');
  }
}
