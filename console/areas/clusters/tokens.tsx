import { ThingList } from '../../ui/thing-list.tsx';
import { crumbsOf } from './readings.ts';

/** A registration token lets many nodes join until it ends. */
export default function Tokens({ params: { name = '' } }: { params: Record<string, string> }) {
  return (
    <ThingList
      title="Registration tokens"
      operation="listRegistrationTokens"
      params={[name]}
      crumbs={crumbsOf(name)}
      create="createRegistrationToken"
      acts={[
        {
          operation: 'updateRegistrationToken',
          label: 'Switch',
          params: (row) => [name, String(row['id'])],
          input: ({ disabled }) => ({ disabled: !disabled }),
        },
        { operation: 'revokeRegistrationToken', label: 'Revoke', params: (row) => [name, String(row['id'])] },
      ]}
      example={`quarterdeck clusters registration-tokens create ${name} --name workers`}
      about="A registration token lets many nodes join by one command or cloud config, until it ends."
    />
  );
}
