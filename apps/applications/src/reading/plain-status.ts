import type { ApplicantStatus, ApplicationStatus } from '@assistance/types';
import type { Language } from '../programs/program-pack.ts';

/** Each status in plain language: `message` says what we are doing, `nextStep` what the applicant does. A pack may say it better. */
export const plainStatus: Record<Language, Record<ApplicationStatus, ApplicantStatus>> = {
  en: {
    submitted: {
      status: 'Received',
      message: 'We have received your application and will check it next.',
      nextStep: 'You do not need to do anything now. Keep your application number.',
    },
    validating: {
      status: 'Being checked',
      message: 'We are checking your application against the rules of the program.',
      nextStep: 'You do not need to do anything now. If we need something from you, we will ask for it.',
    },
    eligible: {
      status: 'May qualify',
      message: 'Your application meets the first requirements. A caseworker is now looking at your case.',
      nextStep: 'Wait for the final decision, and answer if a caseworker contacts you.',
    },
    ineligible: {
      status: 'Not eligible',
      message: 'We have decided that this application does not qualify for the program.',
      nextStep: 'Ask us for the reasons and how to appeal. You can apply again if your situation changes.',
    },
    awarded: {
      status: 'Approved',
      message: 'Your application has been approved.',
      nextStep: 'You will be told how and when you receive your assistance.',
    },
    withdrawn: {
      status: 'Withdrawn',
      message: 'This application was withdrawn at your request. We have stopped working on it.',
      nextStep: 'You can apply again at any time.',
    },
  },
  es: {
    submitted: {
      status: 'Recibida',
      message: 'Hemos recibido su solicitud y la revisaremos a continuación.',
      nextStep: 'No tiene que hacer nada por ahora. Guarde su número de solicitud.',
    },
    validating: {
      status: 'En revisión',
      message: 'Estamos comprobando su solicitud según las reglas del programa.',
      nextStep: 'No tiene que hacer nada por ahora. Si necesitamos algo de usted, se lo pediremos.',
    },
    eligible: {
      status: 'Podría calificar',
      message: 'Su solicitud cumple los primeros requisitos. Una persona está estudiando su caso.',
      nextStep: 'Espere la decisión final y responda si nos ponemos en contacto con usted.',
    },
    ineligible: {
      status: 'No califica',
      message: 'Hemos decidido que esta solicitud no califica para el programa.',
      nextStep: 'Pregúntenos los motivos y cómo apelar. Puede volver a solicitar si su situación cambia.',
    },
    awarded: {
      status: 'Aprobada',
      message: 'Su solicitud ha sido aprobada.',
      nextStep: 'Le informaremos cómo y cuándo recibirá su asistencia.',
    },
    withdrawn: {
      status: 'Retirada',
      message: 'Esta solicitud fue retirada a petición suya. Hemos dejado de tramitarla.',
      nextStep: 'Puede volver a presentar una solicitud cuando quiera.',
    },
  },
};
