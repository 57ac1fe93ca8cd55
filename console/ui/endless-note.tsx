import type { Endless } from '../data/endless.ts';
import { Button } from './button.tsx';
import { counted } from './counted.ts';

/** Under a list that comes in portions: how much of it is here, and the way to the rest without a pointer. */
export function EndlessNote({ list, noun }: { list: Endless<unknown>; noun: string }) {
  const count = list.rows?.length ?? 0;
  return (
    <p class="row faint" role="status">
      <span>
        {counted(count, noun)}
        {list.isMore && ', and there are more'}
      </span>
      {list.isMore && (
        <Button small onPress={list.more}>
          Show more
        </Button>
      )}
      {list.isOld && (
        <>
          <span>Something changed since this was read.</span>
          <Button small onPress={list.again}>
            Read it again
          </Button>
        </>
      )}
    </p>
  );
}
